// The context of a request: from the option `context` of an adapter to the starts and asks of the request's handler.
//   - request-scope.1: Members that the call itself names win over those of the request.
//   - request-scope.2: An activity or step never runs in the context of a request, even if the runtime began it while a
//       handler ran: otherwise its own starts would have a context that depends on timing.

import type { ContextInput } from "../core/context/app-types.ts";
import type { Middleware } from "../core/middleware/middleware.ts";
import { processState } from "./process-state.ts";

/** The context of the current request. `{}` outside of a request. */
export function requestContext(): ContextInput {
  return processState().requests.getStore() ?? {};
}

/** The outermost middleware of an app with the option `context`: other middleware sees the context of the request. */
export const REQUEST_MIDDLEWARE: Middleware = {
  start: (call, next) => next({ ...call, context: { ...requestContext(), ...call.context } }), // request-scope.1
  ask: (call, next) => next({ ...call, context: { ...requestContext(), ...call.context } }),
  activity: (_call, next) => processState().requests.run(undefined, next), // request-scope.2
  step: (_call, next) => processState().requests.run(undefined, next),
};
