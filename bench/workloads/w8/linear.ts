// W8, `linear`: pickup → no-op → no-op → final; four steps in a row.

import { flow } from "../../../src/flow/index.ts";
import type { Shape } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { measureShape, newWatch, next, type Payload } from "../../support/shapes.ts";

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

/** The linear program, with the sizes of the given shape. */
export function linearAs(shape: Shape): Run {
  return (setting) =>
    measureShape(setting, {
      ...{ shape, flow: linear, watch, transitions: 4 },
      expected: (id) => ({ id, counter: 4 }),
    });
}

export const run = linearAs("linear");
