// A runtime on virtual time for examples that wait for days.

import { Perdure, type OpenOptions } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../../src/testing/index.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export interface VirtualDays extends AsyncDisposable {
  readonly environment: VirtualEnvironment;
  readonly perdure: Perdure;
}

export async function openVirtualDays(register: OpenOptions["register"]): Promise<VirtualDays> {
  const environment = new VirtualEnvironment();
  const provider = await SqliteProvider.open(":memory:", { environment });
  const perdure = await Perdure.open(provider, {
    ...(register === undefined ? {} : { register }),
    // Virtual time stops at each heartbeat and poll. Frequent ones would make a month take minutes.
    runtime: { beatMs: HOUR, pollIntervalMs: HOUR, stallMs: 2 * HOUR },
  });
  return {
    environment,
    perdure,
    async [Symbol.asyncDispose]() {
      await perdure.close();
      await provider.close();
    },
  };
}
