// Executes a call, in the process of the test or of a client.
//   - The wall clock does not advance during a call. Each call states the time, which is the same for all clients.
//   - carry-out.1: A call reports when the store began and ended it, on a clock that all clients share, so that overlapping
//        calls can be counted.

import type { Environment } from "../../../src/core/time/environment.ts";
import type { Provider } from "../../../src/core/provider/index.ts";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import { answerOfStore, type Call } from "../model/calls.ts";

export interface Answered {
  readonly answer: unknown;
  /** carry-out.1, in milliseconds. */
  readonly began: number;
  readonly ended: number;
}

/** Real timers, because retries on a busy database use them, with a wall clock that only moves when it is set. */
export class HeldClock {
  at = 0;
  readonly environment: Environment = { ...systemEnvironment, now: () => this.at };
}

export async function carryOut(
  { provider, clock }: { readonly provider: Provider; readonly clock: HeldClock },
  { call, now }: { readonly call: Call; readonly now: number },
): Promise<Answered> {
  clock.at = now;
  const began = moment();
  const answer = await answerOfStore(provider, call);
  return { answer, began, ended: moment() };
}

function moment(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
