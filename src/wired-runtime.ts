// The runtime as the package exports it: the engine, with functions of higher layers passed in.

import { extname } from "node:path";
import { Signer } from "./client/callbacks/signer.ts";
import { Client } from "./client/client.ts";
import { carryOutRepair } from "./client/repair/carry-out.ts";
import type { Provider } from "./core/provider/provider.ts";
import { Runtime as Engine } from "./runtime/runtime.ts";
import type { RuntimeStart, RuntimeWiring } from "./runtime/wiring.ts";

// The sources run as .ts, the built package as .js. In both, the thread's file is next to this one.
const THREAD = new URL(`./activity-thread${extname(import.meta.url)}`, import.meta.url);

const WIRING: RuntimeWiring = {
  makeClient: (provider, options) => new Client(provider, options),
  carryOutRepair,
  makeSigner: (provider, settings) => new Signer(provider, settings),
  threadEntry: THREAD,
};

/** Runs the activities and orchestrations that are registered with it, on one store. */
export class Runtime extends Engine {
  constructor(provider: Provider, options: RuntimeStart) {
    super(provider, options, WIRING);
  }
}
