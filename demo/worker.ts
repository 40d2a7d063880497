// The worker process of the demo: runs the program until SIGTERM or a kill.
//   Arguments: the store's file, the file of side effects.

import { Perdure } from "../src/index.ts";
import { defineFulfilment } from "./fulfilment.ts";
import { openEffects } from "./side-effects.ts";

const [store = "", effectsPath = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit()); // does not outlive the demo

const { register } = defineFulfilment(openEffects(effectsPath));
const perdure = await Perdure.open(`sqlite:${store}`, {
  register,
  runtime: {
    // Few slots, so that there is a queue.
    activityConcurrency: 4,
    // If the system cannot prove that a process is gone (no /proc), a second without heartbeats is enough.
    beatMs: 250,
    staleMs: 1_000,
    log: (level, message, fields) => process.send?.({ level, message, fields }),
  },
});
process.send?.("ready");
process.once("SIGTERM", () => void perdure.close().then(() => process.exit()));
