// Approval with a time-out: a person has two days, then the flow goes on without.

import { event, flow } from "../../src/index.ts";

export const approval = event<{ readonly by: string }>("approval");

export const approved = flow<string>("approved")
  .then("ask", (order) => `please approve ${order}`)
  .waitFor("answer", approval, { timeout: "2d", onTimeout: "continue" })
  .route("outcome", (answer) => (answer === null ? "late" : "answered"), {
    late: (f) => f.then("escalate", () => "nobody answered: escalated"),
    answered: (f) => f.then("thank", (answer) => `approved by ${answer?.by}`),
  })
  .build();
