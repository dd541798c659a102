"""Addresses that lead, or seem to lead, where the server must never call: rows D01 to D06 and B32 of the list."""

METADATA = ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "0", "0.0.0.0", "0177.0.0.1", "0x7f.1")
SPELLINGS = (
    "2130706433", "0x7f000001", "017700000001", "0x7f.0x0.0x0.0x1", "0177.0x0.0.1", "00127.0.0.1", "127.0.0.1.",
    "①②⑦.0.0.1", "１２７.0.0.1", "127。0。0。1", "127．0．0．1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
    "169.254.43518", "425.510.425.510", "256.0.0.1", "127.0.0.1.1",
)  # fmt: skip
NAMES = ("localhost", "LOCALHOST", "localhost.", "app.localhost", "ⓛocalhost", "localhost%2e", "%6cocalhost")
PRIVATE = (
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "100.64.0.1",
    "198.18.0.1", "192.0.2.1", "203.0.113.1", "198.51.100.1", "192.88.99.1", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255",
)  # fmt: skip
IPV6 = (
    "::1", "::", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::127.0.0.1",
    "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:7f00:1::",
    "2002:a9fe:a9fe::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "fd00:ec2::254", "fc00::1", "fe80::1",
    "fe80::1%25lo", "fec0::1", "ff02::1", "5f00::1", "3fff::1", "100::1",
)  # fmt: skip
PORTS = (
    "22",
    "25",
    "80",
    "3306",
    "5432",
    "6379",
    "9200",
    "11211",
    "27017",
    "2375",
    "10250",
    "0",
    "65536",
    "-1",
    "http",
)

SSRF = [
    *(f"https://{host}/" for host in (*METADATA, *LOOPBACK, *SPELLINGS, *NAMES, *PRIVATE)),
    *(f"https://[{address}]/" for address in IPV6),
    *(f"https://1.1.1.1:{port}/" for port in PORTS),
    *(f"https://{host}:8443/v1" for host in ("127.0.0.1", "localhost", "10.0.0.1", "[::1]", "0x7f.1", METADATA[0])),
    *(f"http://{host}/v1" for host in ("127.0.0.1:8000", "[::1]:8000", "localhost:8000", "10.0.0.1:8000", "0:8000")),
    "http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://1.1.1.1/", "http://localhost:6379/",
    "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "dict://127.0.0.1:6379/info",
    "data:text/plain,x", "javascript:alert(1)", "ldap://127.0.0.1/", "tftp://127.0.0.1/x", "unix:///run/docker.sock",
    "//127.0.0.1/", "127.0.0.1", "https:127.0.0.1", "https:///127.0.0.1/",
    "https://good@169.254.169.254/", "https://1.1.1.1@127.0.0.1/", "https://good:443@127.0.0.1/",
    "https://1.1.1.1#@127.0.0.1/", "https://127.0.0.1\\@1.1.1.1/", "https://1.1.1.1\\@127.0.0.1/",
    "https://127.0.0.1%00.example.org/", "https://127.0.0.1%2f@1.1.1.1/", "https://127\t.0.0.1/", "https://127.0.0.1\n/",
    "https://127.0.0.1 /", " https://127.0.0.1/", "https://127.0.0.1%2eexample.org/",
]  # fmt: skip

_NEEDS_A_RESOLVER = ("256.0.0.1", "127.0.0.1.1", "425.510.425.510", "example.org")
_LEADS_OUTSIDE = ("@1.1.1.1", "//1.1.1.1#", "//1.1.1.1\\", "00127")  # the last is 87.0.0.1 to libcurl: octal
PLANTED = [url for url in SSRF if not any(part in url for part in (*_NEEDS_A_RESOLVER, *_LEADS_OUTSIDE))]
"""Those that can be called without asking a name server, and without leaving this machine should the guard fail."""
