/** A log that a honeypot of T-Pot writes. */
export type TpotLog = {
  /** T-Pot's name of the honeypot: the `type` that its Logstash gives the records. */
  readonly honeypot: string;
  /** A glob below T-Pot's data folder; the rotated files, `cowrie.json.1.gz` and the like, match it, too. */
  readonly pattern: string;
  /** The name of the format that reads the file as the honeypot writes it, for `findFormats`. */
  readonly format: string;
};

/** The release and the day of the last change of the configuration that the list was read from. */
export const TPOT_VERSION = "24.04.1, as of 4 August 2026";

/**
 * Every log of T-Pot that tells of visitors, each of them once: the files that its Logstash reads. Only of Heralding
 * it is another one: its sessions also have the visits without a login.
 */
export const TPOT_LOGS: readonly TpotLog[] = (
  [
    ["Adbhoney", "adbhoney/log/adbhoney.json", "tpot-adbhoney"],
    ["Beelzebub", "beelzebub/log/beelzebub.json", "tpot-beelzebub"],
    ["Ciscoasa", "ciscoasa/log/ciscoasa.log", "tpot-ciscoasa"],
    ["CitrixHoneypot", "citrixhoneypot/log/server.log", "tpot-citrixhoneypot"],
    ["ConPot", "conpot/log/*.json", "tpot-conpot"],
    ["Cowrie", "cowrie/log/cowrie.json", "cowrie"],
    ["Ddospot", "ddospot/log/*.log", "tpot-ddospot"],
    // Its program names full files dicompot-2026-11-20T13-00-00.000.log.
    ["Dicompot", "dicompot/log/dicompot*.log", "tpot-dicompot"],
    ["Dionaea", "dionaea/log/dionaea.json", "dionaea"],
    ["ElasticPot", "elasticpot/log/elasticpot.json", "tpot-elasticpot"],
    ["Endlessh", "endlessh/log/endlessh.log", "tpot-endlessh"],
    ["Fatt", "fatt/log/fatt.log", "tpot-fatt"],
    ["Galah", "galah/log/galah.json", "tpot-galah"],
    ["Glutton", "glutton/log/glutton.log", "tpot-glutton"],
    ["Go-pot", "go-pot/log/go-pot.json", "tpot-go-pot"],
    ["H0neytr4p", "h0neytr4p/log/log.json", "tpot-h0neytr4p"],
    ["Hellpot", "hellpot/log/hellpot.log", "tpot-hellpot"],
    ["Heralding", "heralding/log/log_session.json", "heralding"],
    ["Honeyaml", "honeyaml/log/honeyaml.log", "tpot-honeyaml"],
    ["Honeypots", "honeypots/log/*.log", "honeypots"],
    ["Honeytrap", "honeytrap/log/attackers.json", "honeytrap"],
    ["Ipphoney", "ipphoney/log/ipphoney.json", "tpot-ipphoney"],
    ["Log4pot", "log4pot/log/log4pot.log", "tpot-log4pot"],
    ["Mailoney", "mailoney/log/commands.log", "tpot-mailoney"],
    ["Medpot", "medpot/log/medpot.log", "tpot-medpot"],
    ["Miniprint", "miniprint/log/miniprint.json", "tpot-miniprint"],
    ["NGINX", "nginx/log/access.log", "tpot-nginx"],
    ["P0f", "p0f/log/p0f.json", "tpot-p0f"],
    ["RDPHoneypot", "rdphoneypot/log/rdphoneypot.json", "tpot-rdphoneypot"],
    ["Redishoneypot", "redishoneypot/log/redishoneypot.log", "tpot-redishoneypot"],
    ["Sentrypeer", "sentrypeer/log/sentrypeer.json", "tpot-sentrypeer"],
    ["Suricata", "suricata/log/eve.json", "suricata-eve"],
    ["Tanner", "tanner/log/tanner_report.json", "tpot-tanner"],
    ["Wordpot", "wordpot/log/wordpot.log", "tpot-wordpot"],
  ] as const
).map(([honeypot, file, format]) => ({ honeypot, pattern: `${file}*`, format }));
