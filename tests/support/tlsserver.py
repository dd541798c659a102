"""A server on a bare socket that keeps its connections open, with TLS on request, and certificates for it."""

import base64
import contextlib
import hashlib
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Server:
    """A raw TCP server: `answer(connection, head_and_body)` is called for each request of each connection."""

    def __init__(self, answer, tls=None):
        self.answer, self.tls = answer, tls
        self.requests, self.connections, self.open = [], 0, []
        self.stopped = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.connections += 1
                self.open.append(connection)
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while request := self.read(connection):
                self.requests.append(request)
                if self.answer(connection, request) == "close":
                    break
            connection.close()

    @staticmethod
    def read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += connection.recv(1 << 20)
        return head + b"\r\n\r\n" + body

    def close(self):
        self.stopped.set()
        self.socket.close()
        for connection in self.open:
            connection.close()


class Certificate:
    """A self-signed certificate for 127.0.0.1 and `names`."""

    def __init__(self, folder, names=(), *, addresses=("127.0.0.1",), days=(-1, 1)):
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
        alternatives = [x509.DNSName(name) for name in names] + [x509.IPAddress(ip_address(text)) for text in addresses]
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        self.file = folder / f"{certificate.serial_number}.pem"
        self.file.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + self.key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.file)

    @property
    def pin(self):
        spki = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return "sha256//" + base64.b64encode(hashlib.sha256(spki).digest()).decode()
