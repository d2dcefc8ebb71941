/**
 * Style and script of the page.
 *
 * @since 0.1.0
 */

/**
 * Style: light or dark as the reader has it.
 *
 * @category constants
 * @since 0.1.0
 */
export const STYLE = `
:root{color-scheme:light dark;--text:#1d2226;--page:#fff;--plain:#edefef;--line:#fff}
@media(prefers-color-scheme:dark){:root{--text:#dfe4e7;--page:#16191c;--plain:#33393e;--line:#16191c}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--page);max-width:1280px;margin:1.5em auto;padding:0 1em}
h1{font-size:1.4em;margin:0}h2{font-size:1.15em}h3{font-size:1em;margin:1.2em 0 .2em;overflow-wrap:anywhere}
svg{width:100%;height:auto;display:block}
svg text{font:10px ui-monospace,monospace;fill:#14181b;pointer-events:none}
svg a:has(>.plain) text{fill:var(--text)}
rect{stroke:var(--line);stroke-width:.6}.plain,.rest{fill:var(--plain)}
a:hover>rect,a:focus>rect{stroke:var(--text);stroke-width:1.6}
small,em{opacity:.75;font-weight:400}code{font:13px ui-monospace,monospace}
li i{display:inline-block;width:.8em;height:.8em;margin-right:.45em;border-radius:2px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3em 1.4em;padding:0}
section ul{list-style:none;padding-left:1.1em;margin:.2em 0}section>ul{padding-left:.2em}li{margin:.25em 0;overflow-wrap:anywhere}
:target{outline:2px solid;outline-offset:3px}
#about{position:sticky;bottom:0;margin:.6em 0;padding:.6em;min-height:4.2em;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--page);border:1px solid;border-radius:4px;font:13px/1.4 ui-monospace,monospace}
`

/**
 * Script: what the pointer or the focus is on is told below the picture.
 *
 * @category constants
 * @since 0.1.0
 */
export const SCRIPT = `
const about=document.getElementById("about")
const tell=event=>{const node=event.target.closest("svg a,svg g");if(node)about.textContent=node.querySelector("title").textContent}
const svg=document.querySelector("svg")
svg.addEventListener("pointerover",tell)
svg.addEventListener("focusin",tell)
`
