// perdure/encryption: a codec that encrypts every value.

export { encryptingCodec, type EncryptingCodecOptions, type EncryptionKey } from "./codec.ts";
