// A process that fills a store: every instance records large results.
//   Argument: the store's file.

import { activity, orchestration, Perdure } from "../../../src/index.ts";

const large = activity("large", (n: number) => String(n % 10).repeat(20_000));
const fills = orchestration("fills", async (ctx) => {
  let size = 0;
  for (let n = 0; n < 8; n++) size += (await ctx.run(large, n)).length;
  return size;
});
await Perdure.open(`sqlite:${process.argv[2] ?? ""}`, { register: [fills, large] });
setInterval(() => undefined, 60_000);
