import NIOCore

/// Frames of HTTP/2 as a hostile sender writes them. Source: RFC 9113 §4 and §6, RFC 7541 §6.2.2.
enum HTTP2Frames {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, [])

    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]) -> [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
            + withUnsafeBytes(of: stream.bigEndian) { Array($0) } + payload
    }

    /// The headers of a request, with some of its own.
    static func request(_ own: [(String, String)] = []) -> [UInt8] {
        ([(":method", "POST"), (":scheme", "https"), (":path", "/3/device/aa"), (":authority", "x")] + own).flatMap {
            [0x00] + text($0.0) + text($0.1)
        }
    }

    /// - Parameter flags: 4 ends the block of headers, 1 the stream.
    static func headers(_ stream: UInt32, flags: UInt8, _ own: [(String, String)] = []) -> [UInt8] {
        frame(1, flags: flags, stream: stream, request(own))
    }

    static func ping() -> [UInt8] { frame(6, Array("12345678".utf8)) }

    static func reset(_ stream: UInt32) -> [UInt8] { frame(3, stream: stream, [0, 0, 0, 8]) }

    /// The type, flags, stream and payload of each frame.
    static func parse(_ bytes: [UInt8]) -> [(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] {
        var frames: [(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append((head[3], head[4], stream, Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    /// A length of up to 126 bytes stands in one byte; longer ones behind 127. Source: RFC 7541 §5.1.
    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (number, rest) = ([UInt8(127)], bytes.count - 127)
        while rest >= 128 {
            number.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return number + [UInt8(rest)] + bytes
    }
}
