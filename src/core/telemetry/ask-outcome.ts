// The outcome of an ask that rejected, for spans and metrics.

import { isPerdureError } from "../errors/errors.ts";
import { RequestError } from "../errors/request-error.ts";
import type { AskOutcome } from "./telemetry.ts";

export function askOutcomeOf(error: unknown): Exclude<AskOutcome, "answered"> {
  if (error instanceof RequestError) return error.kind;
  return isPerdureError(error, "TIMEOUT") ? "timedOut" : "error";
}
