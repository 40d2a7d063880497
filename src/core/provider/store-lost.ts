// The store is lost to this process: unlike other errors of the store this is permanent, and retrying
// does not help.

import { PerdureError } from "../errors/errors.ts";

export class StoreLostError extends PerdureError {
  constructor(message: string) {
    super("STORE_UNAVAILABLE", message);
  }
}
