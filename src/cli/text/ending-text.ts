// Prints how an instance failed, or was cancelled or terminated: the error, its stack and its causes.

import { failureHeadline } from "../../core/telemetry/failure-headline.ts";
import type { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import { dim, red, type Screen } from "./screen.ts";

const CAUSES_MAX = 10;

export function printEnding(screen: Screen, id: string, error: OrchestrationError): void {
  screen.line(red("✗ "), `${id} ${error.kind}: ${failureHeadline(error.failure, error.cause)}`);
  if (error.failure.stack !== undefined) printStack(screen, error.failure.stack);
  let cause = error.failure.cause;
  for (let depth = 0; cause !== undefined && depth < CAUSES_MAX; depth++) {
    if ("encoded" in cause) {
      screen.line(dim("  caused by "), cause.encoded);
      return;
    }
    screen.line(dim("  caused by "), `${cause.name}: ${cause.message}`);
    if (cause.stack !== undefined) printStack(screen, cause.stack);
    cause = cause.cause;
  }
}

function printStack(screen: Screen, stack: string): void {
  for (const line of stack.split("\n").filter((text) => /^\s+at /.test(text))) {
    screen.line(dim(`    ${line.trim()}`));
  }
}
