// Types of recursive schemas. TypeScript cannot infer the type of a schema that contains itself.

/** An error, with its causes. */
export interface FailureShape {
  name: string;
  message: string;
  category: string;
  retryable: boolean;
  kind?: string;
  code?: string;
  type?: string;
  stack?: string;
  /** The own properties of the error. */
  data?: unknown;
  /** The thrown value, if the code threw something that is not an Error. */
  thrown?: unknown;
  cause?: CauseShape;
  errors?: CauseShape[];
}
/** A cause: an error, or any other value. */
export type CauseShape = FailureShape | { value?: unknown };

/** An instance with its descendants. */
export interface TreeShape {
  id: string;
  status: string;
  children: TreeShape[];
}
