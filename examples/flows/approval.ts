// Approval with a timeout: a person has two days, then the flow continues without an answer.

import { event } from "../../src/index.ts";
import { flow } from "../../src/flow/index.ts";

export const approval = event<{ readonly by: string }>("approval");

export const approved = flow<string>("approved")
  .then("ask", (order) => `please approve ${order}`)
  .waitFor("answer", approval, { timeout: "2d", onTimeout: "continue" })
  .route("outcome", (answer) => (answer === null ? "late" : "answered"), {
    late: (f) => f.then("escalate", () => "nobody answered: escalated"),
    answered: (f) => f.then("thank", (answer) => `approved by ${answer?.by}`),
  })
  .build();
