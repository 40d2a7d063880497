// Services: the dependencies of activities and steps, such as a database or a mail client, given when a process opens.
//   - services.1: A service that the process was opened without throws NOT_CONFIGURED where the code reads it. The attempt
//       fails and is retried: another worker may have the service.

import { invalidArgument } from "../checks.ts";
import { PerdureError } from "../errors/errors.ts";
import { showValue } from "../ids/ids.ts";
import type { ServiceValues } from "./app-types.ts";

/** Read by `await`, `JSON.stringify` and inspections; services do not have these names. */
const NOT_SERVICES: readonly (string | symbol)[] = ["then", "toJSON"];

/** `ctx.services`. `way`: how to add a service, for the error of a missing one (services.1). */
export function openServices(given: unknown, way: string): ServiceValues {
  if (given !== undefined && (typeof given !== "object" || given === null)) {
    throw invalidArgument(`services must be an object; got ${showValue(given)}.`);
  }
  const services: object = given ?? {};
  const proxy = new Proxy(services, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (value !== undefined || typeof name === "symbol" || NOT_SERVICES.includes(name)) {
        return value;
      }
      throw new PerdureError("NOT_CONFIGURED", `There is no service "${name}"; add it: ${way}.`);
    },
    set(_target, name) {
      throw invalidArgument(`ctx.services must not be changed; got a new "${String(name)}".`);
    },
  });
  return proxy as ServiceValues; // the application declares the services that it gives
}

/** How a process gets a service. */
export const SERVICES_OF_PROCESS = "Perdure.open(store, { services: { … } })";
/** How a thread gets a service. */
export const SERVICES_OF_THREAD = "the module of the thread must export const services = { … }";
