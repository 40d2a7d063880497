// W8, `fanout`: pickup → ten branches → join. Each branch adds its own number, so that the result shows a branch that
// got the wrong value or was joined in the wrong position.

import { flow } from "../../../src/flow/index.ts";
import { BRANCHES } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { measureShape, newWatch, next, type Payload } from "../../support/shapes.ts";

const watch = newWatch();

/** A branch that adds its number. */
const adding =
  (number: number) =>
  ({ id, counter }: Payload): Payload => ({ id, counter: counter + number });

const fanout = flow<Payload>("fanout")
  .then("pickup", (payload) => {
    watch.pickedUp.mark(payload.id);
    return next(payload);
  })
  .fork({
    b0: (f) => f.then("add", adding(0)),
    b1: (f) => f.then("add", adding(1)),
    b2: (f) => f.then("add", adding(2)),
    b3: (f) => f.then("add", adding(3)),
    b4: (f) => f.then("add", adding(4)),
    b5: (f) => f.then("add", adding(5)),
    b6: (f) => f.then("add", adding(6)),
    b7: (f) => f.then("add", adding(7)),
    b8: (f) => f.then("add", adding(8)),
    b9: (f) => f.then("add", adding(9)),
  })
  .then("join", (branches) => Object.values(branches).map(({ id, counter }) => [id, counter]))
  .build();

export const run: Run = (setting) =>
  measureShape(setting, {
    ...{ shape: "fanout", flow: fanout, watch, transitions: 1 + BRANCHES + 1 },
    expected: (id) => Array.from({ length: BRANCHES }, (_, number) => [id, 1 + number]),
  });
