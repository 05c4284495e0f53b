"""The explorer's style sheet: JupyterLab's own colours, so that it is light where the page is and dark where it is.

Marks have a tint that works on both and always a word of their own: no meaning hangs on a colour, and
nothing is lost where a viewer strips styles (GitHub). A narrow page turns the rows of tables into blocks.
"""

from __future__ import annotations

CSS = """
.mlx{container-type:inline-size;font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:14px;
 line-height:1.5;color:var(--jp-content-font-color1,#1f2328);background:transparent;overflow-wrap:anywhere}
.mlx.mlx h3,.mlx.mlx h4{margin:1.1em 0 .35em;font-weight:600;line-height:1.35;color:inherit}
.mlx.mlx h3{font-size:1.2em;margin-top:.3em}
.mlx.mlx h4{font-size:1.05em}
.mlx.mlx p{margin:.3em 0 .5em;max-width:90ch}
.mlx .soft{color:var(--jp-content-font-color2,#57606a);font-size:.93em}
.mlx.mlx table{border-collapse:collapse;width:100%;margin:.2em 0 .8em;font-size:13px;table-layout:auto}
.mlx.mlx :is(th,td){text-align:left;vertical-align:top;padding:.3em .6em;line-height:1.45;font-size:13px;
 border:0;border-bottom:1px solid var(--jp-border-color2,#d0d7de);background:transparent;white-space:normal;
 color:inherit}
.mlx.mlx th{font-weight:600;vertical-align:bottom;border-bottom-color:var(--jp-border-color1,#8c959f)}
.mlx.mlx tr,.mlx.mlx tbody tr:nth-child(odd),.mlx.mlx tbody tr:hover{background:transparent}
.mlx.mlx :is(th,td).n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.mlx.mlx :is(th,td):not(.w){overflow-wrap:break-word}
.mlx.mlx td.w{min-width:8em}
.mlx.mlx tr.here :is(td,th){font-weight:600}
.mlx.mlx tr.text td{border-bottom-width:2px;padding-top:0}
.mlx .b{display:inline-block;font-weight:400;padding:0 .5em;margin:0 .25em .1em 0;border-radius:.7em;font-size:12px;
 line-height:1.6;border:1px solid var(--jp-border-color1,#8c959f);white-space:nowrap}
.mlx .gold{background:rgba(212,160,23,.28);border-color:rgba(180,130,0,.9)}
.mlx .stale{background:rgba(214,69,65,.22);border-color:rgba(200,60,60,.9)}
.mlx .good{background:rgba(46,160,67,.24);border-color:rgba(40,140,60,.9)}
.mlx .bad{background:rgba(214,69,65,.22);border-color:rgba(200,60,60,.9)}
.mlx.mlx mark{color:inherit;padding:0 .1em}
.mlx.mlx pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0 .6em;padding:.5em .7em;max-height:26em;
 overflow:auto;font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:12.5px;line-height:1.45;
 color:inherit;background:rgba(127,127,127,.1);border:1px solid var(--jp-border-color2,#d0d7de);border-radius:3px}
.mlx code{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.93em;background:transparent;
 color:inherit;padding:0}
.mlx.mlx summary{cursor:pointer;padding:.15em 0;display:list-item}
.mlx .bar{display:inline-block;height:.7em;background:currentColor;opacity:.55;margin-right:.4em;min-width:1px}
@media print{.mlx.mlx table,.mlx.mlx :is(th,td),.mlx.mlx pre{font-size:8pt;padding-left:0}}
@container (max-width:620px){
 .mlx.mlx :is(table,tbody){display:block;width:auto}
 .mlx.mlx thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
 .mlx.mlx tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(6.4em,1fr));gap:.3em .8em;padding:.5em 0;
  border-bottom:1px solid var(--jp-border-color1,#8c959f)}
 .mlx.mlx td,.mlx.mlx td.n{border:0;padding:0;text-align:left}
 .mlx.mlx td.w,.mlx.mlx tr.text td{grid-column:1/-1}
 .mlx.mlx td[data-l]::before{content:attr(data-l);display:block;font-size:11px;line-height:1.3;font-weight:400;
  color:var(--jp-content-font-color2,#57606a)}
}
"""
