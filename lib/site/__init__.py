"""The static site: rendered notebooks, figures and tables behind a first page that tells the story.

`values` and `tables` bind every number to the cell that it comes from, `chapters` finds what there is, `story` and
`runs` pick the facts, `markdown` and `notebook` turn documents into HTML, `pages` fills the templates,
`build` writes. Nothing here computes a result: what is not in a table, a ledger or a notebook is not
on the site.
"""
