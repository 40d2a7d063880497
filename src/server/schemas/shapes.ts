// Shapes that contain themselves: what a schema cannot infer, it is told.

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
  /** Own properties of the error. */
  data?: unknown;
  /** What was thrown, if that was no Error. */
  thrown?: unknown;
  cause?: CauseShape;
  errors?: CauseShape[];
}
/** A cause that is no Error is a value. */
export type CauseShape = FailureShape | { value?: unknown };

/** An instance with its children. */
export interface TreeShape {
  id: string;
  status: string;
  children: TreeShape[];
}
