# SPDX-License-Identifier: MIT
"""What all doubles of HTTP servers have in common: one that answers in threads of this process, until it is stopped.

    class Double(HttpDouble):
        def answer(self, handler): self.reply(handler, 200, b"{}")"""

import http.server
import socketserver
import ssl
import sys
import threading


class HttpDouble:
    host, port, server, certificate, socket_path, other_url = "127.0.0.1", 0, None, None, None, None  # @certificate: (file, key)

    @property
    def url(self):
        """Also before it starts, where it has a port."""
        return self.other_url or f"{'https' if self.certificate else 'http'}://{self.host}:{self.port}"

    @url.setter
    def url(self, url):
        self.other_url = url

    def start(self):
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0" if self.socket_path else "HTTP/1.1"
            timeout = 30

            def do_GET(self):
                double.answer(self)

            do_POST = do_GET

            def address_string(self):
                return ""

            def log_message(self, *_):
                pass

        class Http(socketserver.ThreadingMixIn, socketserver.UnixStreamServer if self.socket_path else http.server.HTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *whose):
                if not isinstance(sys.exc_info()[1], OSError):  # as of connections that the test cuts
                    super().handle_error(*whose)

        self.server = Http(self.socket_path or ("127.0.0.1", self.port), Handler)
        if not self.socket_path:
            self.port = self.server.server_port
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()
            self.server = None

    def __enter__(self):
        return self if self.server else self.start()

    def __exit__(self, *_):
        self.stop()

    @staticmethod
    def reply(handler, status, body, **headers):
        handler.send_response(status)
        for name, value in {"Content_Length": len(body), **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(body)
