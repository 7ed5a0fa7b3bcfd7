package io.sluice.connect.encode;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.junit.jupiter.api.Test;

/** The text of decimals whose digits would fill the heap. */
class PlainValuesTest {
    private static Object textOf(BigDecimal decimal) throws UnwritableException {
        return new PlainValues(false, true).number(decimal);
    }

    /** A scale is four bytes of a record, of a VariableScaleDecimal for example: its zeros are not written out. */
    @Test
    void aDecimalOfAnyScaleIsText() throws UnwritableException {
        assertEquals("7E-2147483647", textOf(new BigDecimal(BigInteger.valueOf(7), Integer.MAX_VALUE)));
        assertEquals("7E+2147483647", textOf(new BigDecimal(BigInteger.valueOf(7), -Integer.MAX_VALUE)));
        assertEquals("700", textOf(new BigDecimal(BigInteger.valueOf(7), -2)));
        assertEquals("0." + "0".repeat(16_382) + "7", textOf(new BigDecimal(BigInteger.valueOf(7), 16_383)));
    }
}
