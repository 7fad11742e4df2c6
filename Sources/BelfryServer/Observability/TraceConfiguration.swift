import BelfryService
import Foundation
package import Logging

/// The collector that gets a span of each push.
///
/// Keys: `traces.endpoint` (a collector of OTLP over HTTP, such as `http://127.0.0.1:4318`; none switches traces off), `traces.percent`
/// (1...100, default 100: of pushes, chosen by their ids), `traces.headers.file` (lines of a header's name, a colon and its value, for
/// collectors that ask for a key).
package struct TraceConfiguration: Sendable, Hashable {
    package var endpoint: String
    package var percent: Int
    package var headers: [Header]

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    private static let headersMax = 16
    private static let headersBytesMax = 16_384

    /// nil where there is no collector.
    init?(_ settings: Settings) {
        let url = settings.secret("traces.endpoint") ?? ""
        percent = settings.int("traces.percent", default: 100, in: 1...100)
        let file = settings.optionalString("traces.headers.file")
        guard !url.isEmpty else { return nil }
        guard url.hasPrefix("http://") || url.hasPrefix("https://"), let parsed = URL(string: url),
            parsed.host() != nil,
            parsed.user() == nil, parsed.query() == nil
        else {
            settings.note(
                "traces.endpoint is `\(url.quotable)`, it has to be http://host:port or https://host, without user, password and query; a key "
                    + "belongs in traces.headers.file")
            return nil
        }
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        // Source: OpenTelemetry, "OTLP Exporter Configuration": the path stands behind the base unless it is there already.
        endpoint = base.hasSuffix("/v1/traces") ? base : base + "/v1/traces"
        headers = file.flatMap { Self.headers(in: $0, settings) } ?? []
    }

    private static func headers(in file: String, _ settings: Settings) -> [Header]? {
        let key = "traces.headers.file"
        guard let data = settings.contents(key, file) else { return nil }
        let lines = String(decoding: data.prefix(headersBytesMax + 1), as: UTF8.self).split(whereSeparator: \.isNewline)
        guard data.count <= headersBytesMax, lines.count <= headersMax else {
            settings.note("\(key) holds more than \(headersMax) lines or \(headersBytesMax) bytes")
            return nil
        }
        return lines.enumerated().compactMap { number, line in
            let parts = line.split(separator: ":", maxSplits: 1)
            let name = parts.first.map { $0.lowercased() } ?? ""
            let value = parts.last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
            guard parts.count == 2, !name.isEmpty, !value.isEmpty, name.utf8.allSatisfy(\.isOfHeaderName),
                value.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
            else {
                settings.note("\(key): line \(number + 1) is no name of a header, a colon and its value")
                return nil
            }
            return Header(name: name, value: value)
        }
    }
}

extension UInt8 {
    /// Source: RFC 9110 §5.6.2, of which letters, digits and `-_.` are in use.
    fileprivate var isOfHeaderName: Bool {
        switch self {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}

extension LoggingConfiguration {
    /// A logger that writes to standard error in the configured format.
    ///
    /// - Parameter ring: keeps the last lines too; nil keeps none.
    package func makeLogger(keepingIn ring: LogRing? = nil) -> Logger {
        var logger = Logger(label: "belfry") { label in
            let handler: any LogHandler =
                switch format {
                case .text: StreamLogHandler.lines(label: label)
                case .json: JSONLogHandler(label: label)
                }
            return FoldingLogHandler(
                base: ring.map { KeepingLogHandler(base: handler, ring: $0) } ?? handler, folds: .shared)
        }
        logger.logLevel = level
        return logger
    }
}
