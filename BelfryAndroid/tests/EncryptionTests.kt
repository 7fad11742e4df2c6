package org.belfry

import java.security.AlgorithmParameters
import java.security.KeyFactory
import java.security.spec.ECGenParameterSpec
import java.security.spec.ECParameterSpec
import java.security.spec.ECPrivateKeySpec
import java.math.BigInteger
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNotNull
import org.junit.Assert.assertNull
import org.junit.Test

class EncryptionTests {
    private val keys = MessageKeys.make()
    private val sender = Sender(keys.p256dh, keys.authText)

    /** The receiver of the example. Source: RFC 8291 §5 and appendix A. */
    private val receiver: MessageKeys by lazy {
        val curve = AlgorithmParameters.getInstance("EC").apply { init(ECGenParameterSpec("secp256r1")) }.getParameterSpec(ECParameterSpec::class.java)
        val number = BigInteger(1, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94".fromBase64())
        val private = KeyFactory.getInstance("EC").generatePrivate(ECPrivateKeySpec(number, curve))
        val point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4".fromBase64()!!
        MessageKeys.of(point + "BTBZMqHH6r4Tts7J_aSIgg".fromBase64()!! + private.encoded)!!
    }

    @Test fun `the example of RFC 8291 is decrypted`() {
        val message = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT" +
            "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        assertEquals("When I grow up, I want to be a watermelon", receiver.decrypt(message.fromBase64()!!)?.let { String(it) })
    }

    @Test fun `a padded message is decrypted`() {
        val text = "AAECAwQFBgcICQoLDA0ODwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A9NTdDWyteh8-eUpqKS" +
            "8XQK25BVFm2CT9bgWajhNR7DbHW-2GYSsCB2fuxV1UvVQYphVjTYPwCKVwOKN9ajORvD7rCtNG9a7vmXKdrSfRYDnhAj7jNd8KyNS8sYuh-oDVZ-W-YlbKe1iwf4varGMmKj" +
            "vNb-or9M-GPlIFPDt0pH5yKynkXgbdR0QNCtj0PuGQuNHQEEpmAK7l0rMhCfgIVzlyGk1Kb7zvTf1PlaMy5u5mRRIxuc8Nb2tw91mIY7jD8E2CYeEG1Bc6DSH78rq91ygz_h" +
            "7RTl3FKhu6IZUGNwWTdsa_9eciY395yPcS6QUBulzuJHKpJa9TOjoqqP-Vue4HGlR4ikmjIQwf4r5eT1BA"
        val message = PushMessage.ofData(mapOf("encrypted" to text, "receiptId" to "r1"), null, receiver)
        assertEquals(
            listOf("Invoice 4711", "Paid: 12 €", "https://shop.example/4711", "4711"),
            message.run { listOf(title, body, link, data["order"]) })
    }

    @Test fun `texts of any length are decrypted`() {
        for (bytes in listOf(0, 1, 255, 3_993)) {
            val text = ByteArray(bytes) { (it % 251).toByte() }
            assertArrayEquals(text, keys.decrypt(sender.encrypt(text)))
            val (older, encryption, cryptoKey) = sender.encryptOlder(text)
            assertArrayEquals(text, keys.decryptOlder(older, encryption, cryptoKey))
        }
    }

    @Test fun `each changed bit is found`() {
        val message = sender.encrypt("Hello".toByteArray())
        for (place in message.indices) {
            // The length of a record may be any that is long enough.
            if (place in 16..19) continue
            assertNull("$place", keys.decrypt(message.copyOf().also { it[place] = (it[place].toInt() xor 1).toByte() }))
        }
        for (end in message.indices) assertNull("$end", keys.decrypt(message.copyOf(end)))
    }

    @Test fun `other forms are refused`() {
        val text = "Hello".toByteArray()
        for (end in listOf(byteArrayOf(), byteArrayOf(1), byteArrayOf(0, 0), byteArrayOf(2, 1))) assertNull(keys.decrypt(sender.encrypt(text, end)))
        assertNull(keys.decrypt(sender.encrypt(text, recordBytes = 18)))
        assertNull(keys.decrypt(ByteArray(100_000)))
        assertNotNull(keys.decrypt(sender.encrypt(text, recordBytes = 30)))
        val (older, encryption, cryptoKey) = sender.encryptOlder(text, byteArrayOf(1, 0, 0, 0, 0))
        assertNull(keys.decryptOlder(older, encryption, cryptoKey))
        for (header in listOf("", "salt=", "salt=AAAA", "dh=AAAA;salt=%", ";;=,")) {
            assertNull(keys.decryptOlder(older, header, cryptoKey))
            assertNull(keys.decryptOlder(older, encryption, header))
        }
    }

    @Test fun `points beside the curve are refused`() {
        val message = sender.encrypt("Hello".toByteArray())
        for (point in listOf(ByteArray(64), ByteArray(64) { -1 }, ByteArray(32) + ByteArray(31) + byteArrayOf(1))) {
            assertNull(keys.decrypt(message.copyOf().also { point.copyInto(it, 22) }))
        }
    }

    @Test fun `keys are read as they were written`() {
        val same = MessageKeys.of(keys.bytes())!!
        assertEquals(keys.p256dh + keys.authText, same.p256dh + same.authText)
        assertNotNull(same.decrypt(sender.encrypt("Hello".toByteArray())))
        for (bytes in listOf(ByteArray(0), ByteArray(81), ByteArray(200), keys.bytes().copyOf(100))) assertNull(MessageKeys.of(bytes))
    }
}
