// The store is lost to this process: unlike other trouble, this does not pass, and retrying cannot help.

import { PerdureError } from "../errors.ts";

export class StoreLostError extends PerdureError {
  constructor(message: string) {
    super("STORE_UNAVAILABLE", message);
  }
}
