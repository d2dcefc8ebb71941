import { load } from "../lib/util.mjs"
export default {
  name: "php-loop",
  pkg: "@php-wasm/node-8-4",
  what: "PHP 8.4 runs sieve + sha256/sort/preg script (C application, 25 MB, JSPI or asyncify)",
  async setup({ small }) {
    const { PHP, loadPHPRuntime } = await load("@php-wasm/universal/index.js")
    const m = await (await load("@php-wasm/node-8-4/index.js")).getPHPLoaderModule()
    const php = new PHP(await loadPHPRuntime(m, {}))
    const n = small ? 2000 : 200000
    const code =
      `<?php $n=${n};$s=array_fill(0,$n+1,true);for($i=2;$i*$i<=$n;$i++)if($s[$i])for($j=$i*$i;$j<=$n;$j+=$i)$s[$j]=false;$c=0;for($i=2;$i<=$n;$i++)$c+=$s[$i];$a=[];$x=7;for($i=0;$i<$n/10;$i++){$x=($x*1103515245+12345)&0x7fffffff;$a[]=$x;}sort($a);echo $c,' ',hash('sha256',implode(',',$a)),' ',preg_match_all('/9[0-9]*7/',implode(' ',$a));`
    return async () => (await php.run({ code })).text
  }
}
