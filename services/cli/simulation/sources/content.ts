import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";

/** What a scanner sends: an observation without who, where and when. Shared by all that send the same. */
export type Content = Partial<
  Readonly<
    Pick<
      WireObservation,
      | "transport"
      | "destination_port"
      | "application"
      | "credentials"
      | "login_attempts"
      | "commands"
      | "urls"
      | "payload_sha256"
      | "labels"
      | "http"
      | "tls"
      | "ssh"
    >
  >
> & {
  /** Its sensor gives it a session. */
  readonly isSession?: boolean;
};
