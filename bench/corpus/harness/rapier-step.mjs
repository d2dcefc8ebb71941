import { load, rng } from "../lib/util.mjs"
export default {
  name: "rapier-step",
  pkg: "@dimforge/rapier3d-compat",
  what: "build a 300-body world and step it 60 times (Rust physics)",
  async setup({ small }) {
    const R = await load("@dimforge/rapier3d-compat/dist/rapier.mjs").catch(() =>
      load("@dimforge/rapier3d-compat/rapier.es.js")
    )
    const P = R.default ?? R
    await P.init()
    const n = small ? 20 : 300, k = small ? 5 : 60
    return () => {
      const r = rng(31), w = new P.World({ x: 0, y: -9.81, z: 0 })
      w.createCollider(P.ColliderDesc.cuboid(20, .5, 20))
      const bs = []
      for (let i = 0; i < n; i++) {
        const b = w.createRigidBody(
          P.RigidBodyDesc.dynamic().setTranslation(
            (i % 7) - 3 + (r() & 255) / 1024,
            1 + (i / 49 | 0) * 1.1,
            ((i / 7 | 0) % 7) - 3
          )
        )
        w.createCollider(i & 1 ? P.ColliderDesc.ball(.5) : P.ColliderDesc.cuboid(.45, .45, .45), b)
        bs.push(b)
      }
      for (let i = 0; i < k; i++) w.step()
      const o = new Float32Array(bs.flatMap((b) => {
        const t = b.translation()
        return [t.x, t.y, t.z]
      }))
      w.free()
      return o
    }
  }
}
