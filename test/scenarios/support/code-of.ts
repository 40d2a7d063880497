/** The code of the error with which a call is refused. */
export function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    (value) => `no error, but ${String(value)}`,
    (error: { code?: string }) => error.code ?? String(error),
  );
}
