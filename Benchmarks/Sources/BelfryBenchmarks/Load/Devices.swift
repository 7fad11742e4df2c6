import Foundation
import NIOCore

/// Devices made from their numbers, the same each time.
enum Devices {
    /// 32 bytes from the device's number.
    static func token(_ number: Int) -> [UInt8] {
        var state = UInt64(bitPattern: Int64(number)) &* 0xD129_0D3A_5F4C_9B21 &+ 0x5851_F42D_4C95_7F2D
        var token: [UInt8] = []
        token.reserveCapacity(32)
        for _ in 0..<4 {
            let word = splitMix(&state)
            for shift in 0..<8 { token.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
        }
        return token
    }

    static func hex(_ number: Int) -> String { String(decoding: hexBytes(number), as: UTF8.self) }

    static func hexBytes(_ number: Int) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return token(number).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    static func splitMix(_ state: inout UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

/// Requests that register devices, each with ten tags unless said otherwise.
struct RegistrationRequests: Sendable {
    /// The name of a device's system, and its token as it is in JSON.
    struct Kind: Sendable {
        let os: String
        let token: @Sendable (Int) -> [UInt8]

        static let ios = Kind(os: "ios") { Devices.hexBytes($0) }
    }

    private let kind: Kind
    private let tagCount: Int
    private let bodyMiddle: [UInt8]
    /// The tags of a device that say which pushes reach it; the others are drawn from a thousand.
    let marks: @Sendable (Int) -> [String]
    private let head: [UInt8]

    static let tagCount = 10
    private static let names = (0..<1_000).map { Array("\"topic-\($0)\"".utf8) }
    private static let bodyStart = Array(#"{"registration_token":""#.utf8)
    init(
        path: String, port: Int, credentials: String, kind: Kind = .ios, tagCount: Int = Self.tagCount,
        marks: @escaping @Sendable (Int) -> [String] = { _ in [] }
    ) {
        self.marks = marks
        self.kind = kind
        self.tagCount = tagCount
        bodyMiddle = Array(
            """
            ","os":"\(kind.os)","os_version":"17.5","device_model":"iPhone 15","device_manufacturer":"Apple",\
            "device_alias":"Phone 
            """.utf8)
        head = Array(
            """
            POST \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: Basic \(credentials)\r\n\
            Content-Type: application/json\r\nContent-Length: 
            """.utf8)
    }

    func write(_ number: Int, to buffer: inout ByteBuffer) {
        let body = body(number)
        buffer.writeBytes(head)
        buffer.writeString("\(body.count)\r\n\r\n")
        buffer.writeBytes(body)
    }

    func body(_ number: Int) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(512)
        body += Self.bodyStart
        body += kind.token(number)
        body += bodyMiddle
        body += String(number).utf8
        body += #"","tags":["#.utf8
        var tags = marks(number).map { Array("\"\($0)\"".utf8) }
        var state = UInt64(number) &* 7 &+ 1
        let first = Int(Devices.splitMix(&state) % 1_000)
        // A step that shares no factor with 1,000 never meets a name twice.
        let step = [1, 3, 7, 9, 11, 13, 17, 19][Int(Devices.splitMix(&state) % 8)] * 7 % 1_000
        while tags.count < tagCount { tags.append(Self.names[(first + tags.count * step) % 1_000]) }
        for (place, tag) in tags.enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            body += tag
        }
        body += "]}".utf8
        return body
    }
}
