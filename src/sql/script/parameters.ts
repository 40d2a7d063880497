// Parameters: the values of a statement whose text is built for one call.

import type { Value } from "./statement.ts";

/** The text of a parameter, for example `$1`. */
export type Parameter = `$${number}`;

export class Parameters {
  readonly values: Value[] = [];

  /** Adds a value and returns its parameter. */
  readonly bind = (value: Value): Parameter => {
    this.values.push(value);
    return `$${this.values.length}`;
  };
}
/** Adds a value and returns its parameter. */
export type Bind = Parameters["bind"];
