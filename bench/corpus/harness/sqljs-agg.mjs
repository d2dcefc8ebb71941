import { require } from "../lib/util.mjs"
export default {
  name: "sqljs-agg",
  pkg: "sql.js",
  what: "SQLite GROUP BY + window aggregate over 100,000 rows (C, application)",
  async setup({ small }) {
    const S = await require("sql.js")()
    const db = new S.Database()
    const n = small ? 500 : 100000
    db.run("create table t(a int,b int,c text)")
    db.run(
      `with recursive r(i,x) as (select 1,12345 union all select i+1,(x*1103515245+12345)%2147483648 from r where i<${n}) insert into t select x%997,x%10007,printf('k%05d',x%3001) from r`
    )
    return () =>
      JSON.stringify(
        db.exec(
          "select a,count(*),sum(b),avg(b),max(c) from t group by a order by 3 desc limit 50; select c,sum(b*b) from t where b between 100 and 9000 group by c order by 2 limit 20"
        )
      )
  }
}
