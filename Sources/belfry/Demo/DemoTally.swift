import BelfryService

/// The number of devices with each kind of answer.
struct DemoTally: Equatable {
    var accepted = 0
    var refused = 0
    var gone = 0
    /// Anything else; there must be none.
    var other = 0

    var devices: Int { accepted + refused + gone + other }

    init(_ members: some Sequence<DemoCrowd.Member> = []) {
        for member in members {
            switch member.fate {
            case .taken: accepted += 1
            case .refused: refused += 1
            case .gone: gone += 1
            }
        }
    }

    init(_ counts: [Answer: Int]) {
        for (answer, count) in counts {
            switch answer {
            case .accepted: accepted += count
            case .refused: refused += count
            case .gone: gone += count
            default: other += count
            }
        }
    }

    static func += (left: inout DemoTally, right: DemoTally) {
        left.accepted += right.accepted
        left.refused += right.refused
        left.gone += right.gone
        left.other += right.other
    }

    static let head = ["devices", "accepted", "refused", "gone"]
    var cells: [String] { [devices, accepted, refused, gone].map(\.grouped) }

    /// The last cell of a row.
    func verdict(expecting expected: DemoTally) -> String {
        self == expected ? "✓" : "✗ must be \(expected.accepted)/\(expected.refused)/\(expected.gone)"
    }
}
