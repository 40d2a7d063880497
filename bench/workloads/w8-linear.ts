// W8, `linear`: pickup → no-op → no-op → final; four steps in a row.

import { flow } from "../../src/index.ts";
import type { Run } from "../subject.ts";
import { measureShape, newWatch, next, type Payload } from "./shapes.ts";

const watch = newWatch();

const linear = flow<Payload>("linear")
  .then("pickup", (payload) => {
    watch.pickedUp.mark(payload.id);
    return next(payload);
  })
  .then("noop-1", next)
  .then("noop-2", next)
  .then("final", next)
  .build();

export const run: Run = (setting) =>
  measureShape(setting, {
    ...{ shape: "linear", flow: linear, watch, transitions: 4 },
    expected: (id) => ({ id, counter: 4 }),
  });
