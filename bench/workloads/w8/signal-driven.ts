// W8, `signal-driven`: pickup → wait for "kick" → final; the signal is sent when the flow has been picked up.

import { event } from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import { quantile } from "../../statistics.ts";
import type { Run } from "../../subject.ts";
import {
  latenciesOf,
  measureShape,
  newWatch,
  next,
  Times,
  type Payload,
} from "../../support/shapes.ts";

/** The signal's value, so that the result shows a flow that continued without it. */
const KICKED = 100;

const watch = { ...newWatch(), kicked: new Times(), resumed: new Times() };
const kick = event<Payload>("kick");

const driven = flow<Payload>("signal-driven")
  .then("pickup", (payload) => {
    watch.pickedUp.mark(payload.id);
    return next(payload);
  })
  .waitFor(kick)
  .then("final", (payload) => {
    watch.resumed.mark(payload.id);
    return next(payload);
  })
  .build();

export const run: Run = (setting) =>
  measureShape(setting, {
    ...{ shape: "signal-driven", flow: driven, watch, transitions: 3 },
    expected: (id) => ({ id, counter: KICKED + 1 }),
    accompany: async (handle, id) => {
      await watch.pickedUp.seen(id);
      watch.kicked.mark(id);
      await handle.raise(kick, { id, counter: KICKED });
    },
    latencies: (n) => [
      ...latenciesOf(watch, n),
      { metric: "resumeP50Ms", value: quantile(watch.resumed.since(watch.kicked), 0.5), n },
    ],
  });
