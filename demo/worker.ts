// The worker process of the demo: runs the program until it is told to leave, or killed.
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
    // A few hands, so that there is a queue.
    activityConcurrency: 4,
    // Where the system cannot tell for certain that a process is gone (no /proc), a second of silence has to do.
    beatMs: 250,
    staleMs: 1_000,
    log: (level, message, fields) => process.send?.({ level, message, fields }),
  },
});
process.send?.("ready");
process.once("SIGTERM", () => void perdure.close().then(() => process.exit()));
