"""minilake: does a small model with a curated mini data lake decide as well as a larger one?"""
