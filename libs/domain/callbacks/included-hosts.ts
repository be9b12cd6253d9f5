/** A well-known host, and every name below it unless it is exact. */
export type IncludedHost = {
  readonly host: string;
  /** Who operates it, or what it is. */
  readonly operator: string;
  /** A page of the operator's about it. */
  readonly source: string;
  /** Whether names below it are others': a bucket's name says whose it is. */
  readonly isExact: boolean;
};

/** The day on which the entries were put together. */
export const INCLUDED_HOSTS_DATE = "2026-11-30";

type Group = readonly [operator: string, source: string, hosts: string];

/**
 * Hosts that many ordinary machines fetch from: whoever blocks one breaks updates, builds or daily work, and a machine that
 * talks to one proves nothing. Hosts that give each customer a name of its own (pages, tunnels, buckets) are none, as the
 * name tells customers apart; nor are anonymous drops of files, which a server rarely has a reason to ask.
 */
const GROUPS: readonly Group[] = [
  ["GitHub", "https://docs.github.com/en/rest/meta/meta", "github.com githubusercontent.com githubassets.com ghcr.io"],
  ["GitLab", "https://docs.gitlab.com/user/gitlab_com/", "gitlab.com"],
  [
    "Bitbucket",
    "https://support.atlassian.com/organization-administration/docs/ip-addresses-and-domains-for-atlassian-cloud-products/",
    "bitbucket.org atlassian.com",
  ],
  ["Codeberg", "https://docs.codeberg.org/", "codeberg.org"],
  ["Gitee", "https://gitee.com/help", "gitee.com"],
  ["SourceForge", "https://sourceforge.net/p/forge/documentation/Mirrors/", "sourceforge.net"],
  ["kernel.org", "https://www.kernel.org/category/about.html", "kernel.org"],
  ["PyPI", "https://docs.pypi.org/api/", "pypi.org pythonhosted.org"],
  ["Python", "https://www.python.org/downloads/", "python.org pypa.io"],
  ["npm", "https://docs.npmjs.com/cli/v11/using-npm/registry", "npmjs.org npmjs.com"],
  ["Node.js", "https://nodejs.org/en/download", "nodejs.org"],
  ["RubyGems", "https://guides.rubygems.org/rubygems-org-api/", "rubygems.org"],
  ["crates.io", "https://crates.io/data-access", "crates.io"],
  ["Rust", "https://rust-lang.github.io/rustup/installation/other.html", "rust-lang.org rustup.rs"],
  ["Go", "https://go.dev/ref/mod", "golang.org go.dev"],
  ["Packagist", "https://packagist.org/apidoc", "packagist.org getcomposer.org"],
  ["Maven Central", "https://central.sonatype.org/consume/", "maven.org"],
  ["Apache", "https://infra.apache.org/release-download-pages.html", "apache.org"],
  ["CPAN", "https://www.cpan.org/SITES.html", "cpan.org"],
  ["Anaconda", "https://www.anaconda.com/docs/main", "anaconda.com anaconda.org"],
  ["WordPress", "https://codex.wordpress.org/WordPress.org_API", "wordpress.org"],
  ["jsDelivr", "https://www.jsdelivr.com/documentation", "jsdelivr.net"],
  ["unpkg", "https://unpkg.com/", "unpkg.com"],
  ["cdnjs", "https://cdnjs.com/api", "cdnjs.cloudflare.com"],
  ["Debian", "https://www.debian.org/mirror/list", "debian.org"],
  ["Ubuntu", "https://launchpad.net/ubuntu/+archivemirrors", "ubuntu.com canonical.com snapcraft.io"],
  ["Launchpad", "https://launchpad.net/", "launchpad.net launchpadcontent.net"],
  ["Kali Linux", "https://www.kali.org/docs/community/kali-linux-mirrors/", "kali.org"],
  ["Fedora", "https://docs.fedoraproject.org/en-US/infra/", "fedoraproject.org"],
  ["CentOS", "https://www.centos.org/download/mirrors/", "centos.org"],
  ["Red Hat", "https://access.redhat.com/solutions/65300", "redhat.com quay.io"],
  ["AlmaLinux", "https://mirrors.almalinux.org/", "almalinux.org"],
  ["Rocky Linux", "https://mirrors.rockylinux.org/mirrormanager/mirrors", "rockylinux.org"],
  ["openSUSE", "https://mirrors.opensuse.org/", "opensuse.org"],
  ["Arch Linux", "https://archlinux.org/mirrors/", "archlinux.org"],
  ["Alpine Linux", "https://mirrors.alpinelinux.org/", "alpinelinux.org"],
  ["Gentoo", "https://www.gentoo.org/downloads/mirrors/", "gentoo.org"],
  ["OpenWrt", "https://openwrt.org/downloads", "openwrt.org"],
  ["FreeBSD", "https://docs.freebsd.org/en/books/handbook/mirrors/", "freebsd.org"],
  ["GNU", "https://www.gnu.org/prep/ftp.html", "gnu.org"],
  ["BusyBox", "https://busybox.net/downloads/", "busybox.net"],
  ["Alibaba's mirror", "https://developer.aliyun.com/mirror/", "mirrors.aliyun.com"],
  ["Tencent's mirror", "https://mirrors.cloud.tencent.com/", "mirrors.cloud.tencent.com mirrors.tencent.com"],
  ["NetEase's mirror", "https://mirrors.163.com/.help/", "mirrors.163.com"],
  ["Tsinghua's mirror", "https://mirrors.tuna.tsinghua.edu.cn/help/", "tuna.tsinghua.edu.cn"],
  ["USTC's mirror", "https://mirrors.ustc.edu.cn/help/", "mirrors.ustc.edu.cn"],
  ["Docker Hub", "https://docs.docker.com/desktop/setup/allow-list/", "docker.com docker.io"],
  ["Google's registries", "https://cloud.google.com/artifact-registry/docs", "gcr.io pkg.dev"],
  ["Kubernetes", "https://kubernetes.io/releases/download/", "k8s.io"],
  [
    "Microsoft",
    "https://learn.microsoft.com/en-us/microsoft-365/enterprise/urls-and-ip-address-ranges",
    "microsoft.com microsoftonline.com windows.com windowsupdate.com office.com live.com visualstudio.com bing.com 1drv.ms aka.ms",
  ],
  ["Apple", "https://support.apple.com/en-us/101555", "apple.com icloud.com"],
  ["Google", "https://support.google.com/a/answer/2589954", "google.com googleusercontent.com gstatic.com dns.google"],
  ["Google's storage", "https://cloud.google.com/storage/docs/request-endpoints", "=storage.googleapis.com"],
  [
    "Amazon S3",
    "https://docs.aws.amazon.com/general/latest/gr/s3.html",
    "=s3.amazonaws.com =s3.us-east-1.amazonaws.com =s3.us-east-2.amazonaws.com =s3.us-west-1.amazonaws.com =s3.us-west-2.amazonaws.com =s3.ca-central-1.amazonaws.com =s3.sa-east-1.amazonaws.com =s3.eu-central-1.amazonaws.com =s3.eu-west-1.amazonaws.com =s3.eu-west-2.amazonaws.com =s3.eu-west-3.amazonaws.com =s3.eu-north-1.amazonaws.com =s3.eu-south-1.amazonaws.com =s3.ap-south-1.amazonaws.com =s3.ap-east-1.amazonaws.com =s3.ap-northeast-1.amazonaws.com =s3.ap-northeast-2.amazonaws.com =s3.ap-northeast-3.amazonaws.com =s3.ap-southeast-1.amazonaws.com =s3.ap-southeast-2.amazonaws.com",
  ],
  ["Dropbox", "https://help.dropbox.com/security/official-domains", "dropbox.com dropboxusercontent.com"],
  ["MEGA", "https://help.mega.io/", "mega.nz mega.io mega.co.nz"],
  ["Internet Archive", "https://help.archive.org/", "archive.org"],
  ["Pastebin", "https://pastebin.com/doc_api", "pastebin.com"],
  ["Discord", "https://discord.com/developers/docs/reference", "discord.com discordapp.com discordapp.net discord.gg"],
  ["Telegram", "https://core.telegram.org/bots/api", "telegram.org t.me"],
  ["Slack", "https://docs.slack.dev/", "slack.com slack-edge.com slack-files.com"],
  ["Bitly", "https://support.bitly.com/", "bit.ly"],
  ["TinyURL", "https://tinyurl.com/", "tinyurl.com"],
  ["Cloudflare", "https://developers.cloudflare.com/1.1.1.1/", "cloudflare.com cloudflare-dns.com one.one.one.one"],
  ["Baidu", "https://help.baidu.com/", "baidu.com"],
  ["Yandex", "https://yandex.com/support/", "yandex.ru yandex.com yandex.net"],
  ["Yahoo", "https://help.yahoo.com/", "yahoo.com"],
  ["says the asker's address", "https://ifconfig.me/", "ifconfig.me"],
  ["says the asker's address", "https://ifconfig.co/", "ifconfig.co"],
  ["says the asker's address", "https://www.ipify.org/", "ipify.org"],
  ["says the asker's address", "https://ipinfo.io/developers", "ipinfo.io"],
  ["says the asker's address", "https://ip-api.com/docs", "ip-api.com"],
  ["says the asker's address", "https://major.io/p/a-new-future-for-icanhazip/", "icanhazip.com"],
  ["says the asker's address", "https://checkip.amazonaws.com/", "checkip.amazonaws.com"],
  ["says the asker's address", "https://wtfismyip.com/automation", "wtfismyip.com"],
  ["says the asker's address", "https://httpbin.org/", "httpbin.org"],
];

/** The list that comes along. A `=` before a host says that names below it are not meant. */
export const INCLUDED_HOSTS: readonly IncludedHost[] = GROUPS.flatMap(([operator, source, hosts]) =>
  hosts.split(" ").map((host) => ({ operator, source, host: host.replace("=", ""), isExact: host.startsWith("=") })),
);
