// The context of a request: from the option `context` of an adapter to the starts and asks of the request's handler.
//   - request-scope.1: Members that the call itself names win over those of the request.
//   - An activity or step never runs in the context of a request, even if the runtime began it while a handler ran: the
//       timers of the system environment run in the root context.

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
};
