/** What T-Pot's Logstash calls its inputs, of this version and earlier ones. */
export const TPOT_TYPES: ReadonlySet<string> = new Set([
  ...["Adbhoney", "Beelzebub", "Ciscoasa", "CitrixHoneypot", "ConPot", "Cowrie", "Ddospot", "Dicompot", "Dionaea"],
  ...["ElasticPot", "Endlessh", "Fatt", "Galah", "Glastopf", "Glutton", "Go-pot", "H0neytr4p", "Hellpot", "Heralding"],
  ...["Honeyaml", "Honeypots", "Honeysap", "Honeytrap", "Ipphoney", "Log4pot", "Mailoney", "Medpot", "Miniprint"],
  ...["NGINX", "P0f", "Rdpy", "Redishoneypot", "Sentrypeer", "Suricata", "Tanner", "Vnclowpot", "Wordpot", "eMobility"],
]);
