// The process of the slow disk: `slow-sync-client.ts <store address> <log> <orders>`. Prints what it measured as JSON.

import { Perdure } from "../../src/index.ts";
import { openAddress } from "../../test/faults/kill/store-address.ts";
import { startOrders, timed, wrongOrders } from "./orders.ts";
import { defineWork } from "./work.ts";

const STARTS = 10;
const ORDER = { rounds: 3, ms: 0 };

export interface Measured {
  /** From the call until the acknowledgement. */
  readonly startsMs: readonly number[];
  /** From the first start until the last result. */
  readonly ordersMs: number;
  readonly wrong: readonly string[];
}

if (import.meta.main) {
  const [address = "", log = "", count = ""] = process.argv.slice(2);
  console.log(JSON.stringify(await measure(address, log, Number(count))));
}

async function measure(address: string, log: string, count: number): Promise<Measured> {
  const { order, register } = defineWork(log);
  const provider = await openAddress(address);
  await using perdure = await Perdure.open(provider, {
    register,
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  const startsMs: number[] = [];
  for (let n = 0; n < STARTS; n++) startsMs.push(await timed(() => client.start(order, ORDER)));
  let wrong: readonly string[] = [];
  const ordersMs = await timed(async () => {
    wrong = await wrongOrders(await startOrders(client, { count, order: ORDER }), ORDER);
  });
  return { startsMs, ordersMs, wrong };
}
