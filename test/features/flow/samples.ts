// Flows shared by several tests: a linear flow, and a flow with every kind of node and many options.

import { activity, event, orchestration } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";

export interface Order {
  readonly id: string;
  readonly kind: "card" | "bank";
  readonly lines: readonly string[];
}

export const charge = activity("charge", (order: Order) => ({ order, receipt: order.id }), {
  retry: { maxAttempts: 3, backoff: { kind: "fixed", base: 10 } },
});
export const approval = event<{ readonly by: string }>("approval");
export const audit = orchestration("audit", async (_ctx, order: Order) => order.lines.length);

export const linear = flow<number>("linear")
  .then("double", (n) => n * 2)
  .then("add", (n) => n + 1)
  .build();

/** Every kind of node once. */
export const everything = flow<Order>("everything", { metadata: { team: "shop" } })
  .then(charge, { timeout: "30s", tags: ["money"], priority: 2, metadata: { slow: true } })
  .compensate(({ output }) => `refund ${output.receipt}`)
  .fork({
    mail: (f) => f.then("send", ({ order }) => order.id).delay("pause", "1m"),
    stock: (f) =>
      f.map(
        "each",
        ({ order }) => order.lines,
        (g) => g.then("reserve", (line) => line.length),
        { concurrency: 2 },
      ),
  })
  .then("merge", ({ mail, stock }) => ({ mail, stock }))
  .route("kind", ({ stock }) => (stock.length > 1 ? "many" : "one"), {
    many: (f) => f.then("sum", ({ stock }) => stock.reduce((a, b) => a + b, 0)),
    one: (f) => f.then("only", ({ stock }) => stock[0] ?? 0),
  })
  .loop("refine", (f) => f.then("step", (n) => (n < 3 ? again(n + 1) : done(n))), {
    maxIterations: 5,
    onMax: "exitWithLast",
  })
  .waitFor(approval, { timeout: "2d", onTimeout: "continue" })
  .then("begin", (answer) => (answer === null ? 0 : answer.by.length))
  .call("inline", linear)
  .then("order", (n): Order => ({ id: `${n}`, kind: "card", lines: [] }))
  .child("audited", audit, { onParentClose: "abandon" })
  .catch((f) => f.then("handle", ({ failure }) => failure.message))
  .build();
