import { require } from "../lib/util.mjs"
export default {
  name: "quickjs-sort",
  pkg: "@jitl/quickjs-wasmfile-release-sync",
  what: "QuickJS runs a sort + hash + Map script (C interpreter)",
  async setup({ small }) {
    const core = require("quickjs-emscripten-core")
    const v = require("@jitl/quickjs-wasmfile-release-sync").default
    const Q = await core.newQuickJSWASMModuleFromVariant(v)
    const n = small ? 50 : 20000
    const src =
      `let s=1;const r=()=>(s=(s*1103515245+12345)&0x7fffffff);const a=Array.from({length:${n}},r);a.sort((x,y)=>x-y);let h=0;for(let i=0;i<a.length;i++)h=(h*31+a[i])|0;let m=new Map();for(const x of a)m.set(x%977,(m.get(x%977)||0)+1);h+':'+[...m].slice(0,9).join()`
    return () => {
      const c = Q.newContext()
      const o = c.unwrapResult(c.evalCode(src))
      const s = c.getString(o)
      o.dispose()
      c.dispose()
      return s
    }
  }
}
