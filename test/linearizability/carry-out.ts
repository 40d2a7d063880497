// Carrying out a call, wherever a client lives.
//   CL1. The clock stands still during a call and is the same for all: each call says what time it is.
//   CL2. A call tells when the store began with it and when it had done, on a clock that all clients share, so that
//        what overlapped can be counted.

import type { Environment } from "../../src/core/environment.ts";
import type { Provider } from "../../src/core/provider/index.ts";
import { systemEnvironment } from "../../src/core/system-environment.ts";
import { answerOfStore, type Call } from "../model/calls.ts";

export interface Answered {
  readonly answer: unknown;
  /** CL2, in milliseconds. */
  readonly began: number;
  readonly ended: number;
}

/** Real timers, since a busy database is asked again by them, and a wall clock that stands where it was set. */
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
