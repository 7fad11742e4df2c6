import BelfryService
import BelfrySimulators
import Foundation
import Testing

extension APNsSimulator {
    /// How often it took a push for the device.
    func told(_ device: Device) -> Int { device.token.flatMap { ledger.token($0.bytes) }?.told ?? 0 }
}

extension PushStore {
    /// The receipt of a push that a server took, once all of its devices have their answers.
    func settled(_ push: UUID) async throws -> Receipt {
        try await eventually("push \(push) is settled") {
            let receipt = try #require(try await self.receipt(push), "an accepted push is lost")
            return receipt.state == .settled ? receipt : nil
        }
    }
}
