// A process that runs orchestrations of transactions until it is killed.

import type { DatabaseSync } from "node:sqlite";
import { orchestration, Perdure } from "../../src/index.ts";

export const transfers = orchestration("transfers", async (ctx, id: string) => {
  for (let n = 0; n < 10; n++) {
    await ctx.tx(`transfer-${n}`, (tx: DatabaseSync) => {
      tx.prepare("INSERT INTO moves (id, n) VALUES (?, ?)").run(id, n);
      tx.exec("UPDATE accounts SET balance = balance - 1 WHERE id = 'from'");
      tx.exec("UPDATE accounts SET balance = balance + 1 WHERE id = 'to'");
    });
  }
  return id;
});

if (process.argv[2] !== undefined) {
  await Perdure.open(`sqlite:${process.argv[2]}`, {
    register: [transfers],
    runtime: { log: () => undefined, shadowReplay: "never" },
  });
  process.send?.("up");
}
