// The examples of docs/flows.md. flow/docs.test.ts compares them with the page, runs them and draws them.

import { activity, event } from "../../../src/index.ts";
import { again, done, flow } from "../../../src/flow/index.ts";

export interface Order {
  readonly id: string;
  readonly kind: "card" | "bank";
  readonly lines: readonly string[];
}
export const charge = activity("charge", async (order: Order) => ({
  order,
  receipt: `r-${order.id}`,
}));
export const approval = event<{ readonly by: string }>("approval");

export const processing = flow<Order>("processing")
  .then("reserve", (order) => order)
  .compensate(({ input }) => console.log("released", input.id))
  .then(charge)
  .fork({
    invoice: (f) => f.then("invoice", ({ receipt }) => `invoice ${receipt}`),
    parcel: (f) =>
      f.map(
        "lines",
        ({ order }) => order.lines,
        (g) => g.then("pack", (line) => line.toUpperCase(), { attempts: 3 }),
      ),
  })
  .then("done", ({ invoice, parcel }) => ({ invoice, items: parcel.length }))
  .build();

export const approved = flow<Order>("approved")
  .then("ask", (order) => `please approve ${order.id}`)
  .waitFor("answer", approval, { timeout: "2d", onTimeout: "continue" })
  .route("outcome", (answer) => (answer === null ? "late" : "answered"), {
    late: (f) => f.then("remind", () => "no answer came"),
    answered: (f) => f.then("thank", (answer) => `thank you, ${answer?.by}`),
  })
  .build();

export const pipeline = flow<readonly string[]>("pipeline")
  .map(
    "documents",
    (names) => names,
    (f) =>
      f
        .then("read", (name) => ({ name, text: `text of ${name}`, round: 0 }))
        .loop(
          "improve",
          (g) =>
            g.then("rewrite", (draft) =>
              draft.round < 2 ? again({ ...draft, round: draft.round + 1 }) : done(draft),
            ),
          { maxIterations: 5 },
        )
        .then("store", ({ name, round }) => `${name} after ${round} rounds`),
    { concurrency: 4, onError: "settle" },
  )
  .then("report", (outcomes) =>
    outcomes.map((each) => (each.ok ? each.value : each.failure.message)),
  )
  .build();
