"""lib/render.py, render_widgets.py: what varies between runs goes, what the notebook says stays."""

from __future__ import annotations

import copy
import json

from lib import render, render_widgets


def code(*outputs, source="x", count=1, **metadata):
    return {
        "cell_type": "code", "id": "f00dcafe", "metadata": metadata, "source": source,
        "execution_count": count, "outputs": list(outputs),
    }  # fmt: skip


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def display(**data):
    return {"output_type": "display_data", "metadata": {}, "data": data}


def notebook(*cells, **metadata):
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def outputs(*items, replace=None):
    return render.normalise(notebook(code(*items)), replace=replace or {})["cells"][0]["outputs"]


def test_times_ids_and_versions_of_a_run_are_left_out():
    first = notebook(
        code(stream("a\n"), execution={"iopub.execute_input": "2026-11-30T18:00"}, papermill={"duration": 0.1}),
        papermill={"duration": 3.2}, language_info={"name": "python", "version": "3.11.7"},
    )  # fmt: skip
    second = copy.deepcopy(first)
    second["metadata"]["papermill"]["duration"] = 4.4
    second["metadata"]["language_info"]["version"] = "3.12.1"
    second["cells"][0]["metadata"]["papermill"]["duration"] = 0.2
    second["cells"][0]["id"] = "deadbeef"
    text = render.dump(render.normalise(first, replace={}))
    assert text == render.dump(render.normalise(second, replace={}))
    assert "papermill" not in text and "18:00" not in text and "3.11" not in text


def test_sources_outputs_tags_and_counts_stay():
    cell = code(stream("1\n"), source=["a = 1\n", "print(a)"], count=7, tags=["parameters"])
    prose = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# T"}
    done = render.normalise(notebook(prose, cell), replace={})
    assert done["cells"][0] == {"cell_type": "markdown", "id": "cell-01", "metadata": {}, "source": "# T"}
    assert done["cells"][1]["source"] == "a = 1\nprint(a)"
    assert done["cells"][1]["execution_count"] == 7
    assert done["cells"][1]["metadata"] == {"tags": ["parameters"]}
    assert done["cells"][1]["outputs"] == [stream("1\n")]


def test_normalising_twice_changes_nothing():
    cell = code(stream("a at 0x7f00aa11\n"), display(**{"text/plain": ["b", "c"]}))
    once = render.normalise(notebook(cell), replace={})
    assert render.normalise(once, replace={}) == once


def test_the_way_a_kernel_cuts_its_streams_does_not_matter():
    pieces = outputs(stream("a"), stream("warn", "stderr"), stream("b\n"), display(), stream("c"))
    whole = outputs(stream("warn", "stderr"), stream("ab\n"), display(), stream("c"))
    assert pieces == whole == [stream("ab\n"), stream("warn", "stderr"), display(), stream("c")]


def test_paths_of_this_machine_become_words_the_longest_first():
    text = "/home/me/repo/.venv/lib/x.py and /home/me/repo/data and /home/me/other"
    done = outputs(stream(text), replace={"/home/me": "~", "/home/me/repo": ".", "/home/me/repo/.venv": "<env>"})
    assert done == [stream("<env>/lib/x.py and ./data and ~/other")]


def test_addresses_and_kernel_files_become_constant():
    done = outputs(stream("<A at 0x7f3a2b> /tmp/ipykernel_123/456.py:3"), stream("<B at 0x1>"))
    assert done == [stream("<A at 0x…> <cell>:3<B at 0x1>")]


def test_random_names_of_styled_tables_are_numbered_and_stay_distinct():
    html = '<table id="T_0a1b2"><td id="T_0a1b2_row0"></td></table><table id="T_ffeed"></table>'
    done = outputs(display(**{"text/html": html}))[0]["data"]["text/html"]
    assert done == '<table id="T_00001"><td id="T_00001_row0"></td></table><table id="T_00002"></table>'


def test_pictures_are_not_touched():
    picture = "iVBOR/home/me0x7f3a2b1c"
    assert outputs(display(**{"image/png": picture}), replace={"/home/me": "~"})[0]["data"]["image/png"] == picture


def test_the_text_is_what_nbformat_reads():
    import nbformat

    text = render.dump(render.normalise(notebook(code(stream("ação\n"), display(**{"text/plain": "x"}))), replace={}))
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert "ação" in text and text.endswith("}\n") and json.loads(text)["nbformat_minor"] == 5


# --- widgets


def model(name, **state):
    return {"model_module": "m", "model_module_version": "2.0.0", "model_name": name, "state": state}


def with_widgets(ids, **more):
    """A box of two texts with a shared layout, and a link between the texts that nothing shows; ids by their part."""
    refer = {part: f"IPY_MODEL_{id_}" for part, id_ in ids.items()}
    models = {
        ids["box"]: model("BoxModel", children=[refer["first"], refer["second"]], layout=refer["layout"]),
        ids["first"]: model("TextModel", value="at /home/me/x, 0x7f00aa11", layout=refer["layout"], **more),
        ids["second"]: model("TextModel", value="two", _options_labels=["a", "b"], layout=refer["layout"]),
        ids["layout"]: model("LayoutModel", width="auto"),
        ids["link"]: model("LinkModel", source=[refer["first"], "value"], target=[refer["second"], "value"]),
    }
    view = {"model_id": ids["box"], "version_major": 2, "version_minor": 0}
    shown = display(**{render_widgets.VIEW: view, "text/plain": "x"})
    state = {render_widgets.STATE: {"state": dict(sorted(models.items())), "version_major": 2, "version_minor": 0}}
    return notebook(code(shown), widgets=state)


PARTS = ("box", "first", "second", "layout", "link")


def test_two_runs_of_the_same_widgets_are_the_same_bytes():
    """Whatever the random ids are, and hence in whatever order a file holds the models."""
    texts = set()
    for turn in range(5):
        ids = {part: f"{(number * 7 + turn * 3) % 16:x}" * 32 for number, part in enumerate(PARTS)}
        texts.add(render.dump(render.normalise(with_widgets(ids), replace={"/home/me": "~"})))
    assert len(texts) == 1


def test_every_reference_of_a_widget_leads_to_a_model_and_the_rest_of_its_state_stays():
    ids = {part: f"{number + 10:x}" * 32 for number, part in enumerate(PARTS)}
    done = render.normalise(with_widgets(ids), replace={"/home/me": "~"})
    models = done["metadata"]["widgets"][render_widgets.STATE]["state"]
    assert len(models) == 5 and all(id_ not in render.dump(done) for id_ in ids.values())
    box = models[done["cells"][0]["outputs"][0]["data"][render_widgets.VIEW]["model_id"]]
    first, second = (models[child.removeprefix("IPY_MODEL_")] for child in box["state"]["children"])
    assert first["state"]["value"] == "at ~/x, 0x…"
    assert second["state"]["_options_labels"] == ["a", "b"]
    assert models[first["state"]["layout"].removeprefix("IPY_MODEL_")]["state"] == {"width": "auto"}
    link = next(each for each in models.values() if each["model_name"] == "LinkModel")["state"]
    assert [link[end][0] for end in ("source", "target")] == box["state"]["children"]


def test_widgets_that_refer_to_each_other_and_to_nothing_are_renumbered_too():
    ids = {part: f"{number:x}" * 32 for number, part in enumerate(PARTS, start=1)}
    turning = with_widgets(ids, parent=f"IPY_MODEL_{ids['box']}", gone="IPY_MODEL_nowhere")
    models = render.normalise(turning, replace={})["metadata"]["widgets"][render_widgets.STATE]["state"]
    first = next(each for each in models.values() if "parent" in each["state"])["state"]
    assert models[first["parent"].removeprefix("IPY_MODEL_")]["model_name"] == "BoxModel"
    assert first["gone"].startswith("IPY_MODEL_")


def test_normalising_widgets_twice_changes_nothing_and_without_their_state_the_ids_are_numbers_too():
    ids = {part: f"{number:x}" * 32 for number, part in enumerate(PARTS, start=1)}
    once = render.normalise(with_widgets(ids), replace={})
    assert render.normalise(once, replace={}) == once
    bare = with_widgets(ids) | {"metadata": {}}
    done = render.normalise(bare, replace={})
    assert ids["box"] not in render.dump(done) and set(done["metadata"]) == {"kernelspec", "language_info"}


def test_a_notebook_with_widgets_is_what_nbformat_reads():
    import nbformat

    ids = {part: f"{number:x}" * 32 for number, part in enumerate(PARTS, start=1)}
    nbformat.validate(nbformat.reads(render.dump(render.normalise(with_widgets(ids), replace={})), as_version=4))
