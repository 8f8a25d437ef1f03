# SPDX-License-Identifier: MIT
"""A BMC for QEMU's ipmi-bmc-extern: a double, since nobody here has one.  It speaks OpenIPMI's "VM" serial protocol on a Unix
socket, answers what Linux asks a BMC at first, and Get Power Reading (DCMI) as a test tells it to.

    with Bmc(path, ["271 W", "refuse", ...]) as bmc:    one word a question; the last holds on
        QEMU with bmc.devices
"""

import socket
import struct
import threading
import time

END, COMMAND_END, ESCAPE = 0xA0, 0xA1, 0xAA
SPECIAL = {END, COMMAND_END, ESCAPE}
APP, DCMI = 0x06, 0x2C
DEVICE_ID = bytes([0, 0x20, 0x01, 0x01, 0x02, 0x02, 0x00, 0x57, 0x01, 0x00, 0x0B, 0x00])  # IPMI 2.0, no sensors
ANSWERS = {(APP, 0x01): DEVICE_ID, (APP, 0x2F): bytes([0, 0]), (APP, 0x2E): bytes([0]), (APP, 0x31): bytes([0, 0]),
           (APP, 0x35): bytes([0x80])}  # no event buffer
UNKNOWN = bytes([0xC1])


def escaped(data):
    return b"".join(bytes([ESCAPE, byte | 0x10]) if byte in SPECIAL else bytes([byte]) for byte in data)


def reading(watts, stamp, state=0x40):
    """An answer of DCMI 1.5, 6.6.1, with means over 17 days, which nobody should take."""
    return bytes([0, 0xDC]) + struct.pack("<HHHHIIB", watts, 5, 503, 263, stamp, 1473439000, state)


class Bmc:
    def __init__(self, path, script):
        self.script, self.asked = script, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        # With reconnect QEMU connects once its devices are there; at once, QEMU 7.2 ends by a fault.
        self.devices = ["-chardev", f"socket,id=bmc,path={path},reconnect=1", "-device", "ipmi-bmc-extern,id=bmc0,chardev=bmc",
                        "-device", "isa-ipmi-kcs,bmc=bmc0"]
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(30)

    def serve(self):
        try:
            connection, _ = self.listener.accept()
            message, is_escaped = bytearray(), False
            while data := connection.recv(4096):
                for byte in data:
                    if byte == END:
                        self.answer(connection, bytes(message))
                    if byte in (END, COMMAND_END):
                        message.clear()
                    elif byte == ESCAPE:
                        is_escaped = True
                    else:
                        message.append(byte & ~0x10 if is_escaped else byte)
                        is_escaped = False
        except OSError:
            pass  # the guest is gone

    def answer(self, connection, message):
        """@message: number, netfn and lun, command, data, checksum."""
        number, netfn, command = message[0], message[1] >> 2, message[2]
        found = self.power() if (netfn, command) == (DCMI, 0x02) else ANSWERS.get((netfn, command), UNKNOWN)
        if found is None:
            return
        body = bytes([number, (netfn | 1) << 2, command]) + found
        connection.sendall(escaped(body + bytes([-sum(body) & 0xFF])) + bytes([END]))

    def power(self):
        word = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(word)
        kind, _, rest = word.partition(" ")
        if kind == "late":
            time.sleep(3)  # QEMU itself gives up after 4
            return reading(17, len(self.asked))
        return {"none": None, "refuse": bytes([0xC1]), "short": bytes([0, 0xDC, 1]), "off": reading(19, 1, 0),
                "zero": reading(0, 1)}[kind] if kind in ("none", "refuse", "short", "off", "zero") else \
            reading(int(kind), 1700000000 + 5 * len(self.asked))
