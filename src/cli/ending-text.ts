// How an instance ended other than by completing: the error, why, and where.

import { failureHeadline } from "../core/failure-headline.ts";
import type { OrchestrationError } from "../core/outcome-errors.ts";
import { dim, red, type Screen } from "./screen.ts";

const CAUSES_MAX = 10;

export function tellEnding(screen: Screen, id: string, error: OrchestrationError): void {
  screen.line(red("✗ "), `${id} ${error.kind}: ${failureHeadline(error.failure, error.cause)}`);
  if (error.failure.stack !== undefined) tellStack(screen, error.failure.stack);
  let cause = error.failure.cause;
  for (let depth = 0; cause !== undefined && depth < CAUSES_MAX; depth++) {
    if ("encoded" in cause) {
      screen.line(dim("  because of "), cause.encoded);
      return;
    }
    screen.line(dim("  because of "), `${cause.name}: ${cause.message}`);
    if (cause.stack !== undefined) tellStack(screen, cause.stack);
    cause = cause.cause;
  }
}

function tellStack(screen: Screen, stack: string): void {
  for (const line of stack.split("\n").filter((text) => /^\s+at /.test(text))) {
    screen.line(dim(`    ${line.trim()}`));
  }
}
